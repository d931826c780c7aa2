
drop table checkstone.team_events;
drop table checkstone.team_machines;
