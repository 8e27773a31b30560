"""What measures speed, memory and cost; each module prints one JSON object."""
