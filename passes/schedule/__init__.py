"""How it is computed: passes that choose algorithms, schedules and layouts."""
