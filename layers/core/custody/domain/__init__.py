"""Pure rules: no input, no output, no clock."""
