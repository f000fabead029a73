"""Files and APIs in, store out: sources read formats, the runner stages rows, the store commits them."""
