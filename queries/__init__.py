"""Store in, answers out: one question is one `.sql` file and one function of the same name."""
