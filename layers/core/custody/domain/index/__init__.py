"""What an index holds, what it is asked and what it proposes."""
