-- Run once by PostgreSQL's image, on a new volume: the upstream service's database, beside Tidings' own.
create database upstream;
