"""What writes rows, a file a format; and what the formats share: growing files, their repair, the history."""
