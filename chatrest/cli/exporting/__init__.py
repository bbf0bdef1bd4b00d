"""What `export` says: `times` reads options, `gauge` reckons, `terminal` and `log` show, `words` tells."""
