"""From stored cells to what a person reads: tables and figures."""
