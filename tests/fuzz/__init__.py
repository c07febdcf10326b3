"""Input that nobody sends who means well, made of what is really sent: no part that reads it may raise, lose a task, keep more
than it may or take long. `make test-attacks` tries some of it, the same each time; `make fuzz` an hour of it."""
