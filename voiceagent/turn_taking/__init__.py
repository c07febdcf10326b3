"""When a turn is over, and who has the floor: pure policies over a language's words. Nothing here imports anything of ours."""
