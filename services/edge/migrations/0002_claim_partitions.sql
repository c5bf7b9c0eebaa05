-- Day partitions of the claims: made ahead, dropped when their retention is over.

-- Creates the missing partitions of the days from_day to to_day, both included, and returns how many it created.
-- A day is skipped, and tried again by the next call, when rows of it are in the default partition already, or
-- when the lock is not to be had in two seconds: claims must not wait behind this.
CREATE FUNCTION tidings_delivery.ensure_claim_partitions(from_day date, to_day date) RETURNS int
LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
DECLARE
    partition_day date;
    created       int := 0;
BEGIN
    IF to_day - from_day > 4000 THEN
        RAISE EXCEPTION 'ensure_claim_partitions: % to % is more than 4000 days', from_day, to_day
            USING HINT = 'dispatcher.dedupe_retention_days is at most 3650';
    END IF;
    FOR partition_day IN SELECT from_day + n FROM generate_series(0, to_day - from_day) AS n LOOP
        CONTINUE WHEN to_regclass(format('tidings_delivery.%I', 'claims_' || to_char(partition_day, 'YYYYMMDD'))) IS NOT NULL;
        BEGIN
            EXECUTE format(
                'CREATE TABLE tidings_delivery.%I PARTITION OF tidings_delivery.claims '
                'FOR VALUES FROM (%L) TO (%L) WITH (fillfactor = 70)',
                'claims_' || to_char(partition_day, 'YYYYMMDD'), partition_day, partition_day + 1);
            created := created + 1;
        EXCEPTION
            -- In turn: rows in the default partition; somebody else created it; claims hold the lock.
            WHEN check_violation OR duplicate_table OR lock_not_available THEN NULL;
        END;
    END LOOP;
    RETURN created;
END $$;

-- Drops the partitions of the days before before_day; returns how many. A partition whose lock is not to be had in two seconds stays for the next call.
CREATE FUNCTION tidings_delivery.drop_claim_partitions(before_day date) RETURNS int
LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
DECLARE
    partition_name text;
    dropped        int := 0;
BEGIN
    FOR partition_name IN
        SELECT child.relname
        FROM pg_inherits
        JOIN pg_class AS child ON child.oid = pg_inherits.inhrelid
        WHERE pg_inherits.inhparent = 'tidings_delivery.claims'::regclass
          AND child.relname ~ '^claims_[0-9]{8}$'
          AND to_date(right(child.relname, 8), 'YYYYMMDD') < before_day
        ORDER BY child.relname
    LOOP
        BEGIN
            EXECUTE format('DROP TABLE tidings_delivery.%I', partition_name);
            dropped := dropped + 1;
        EXCEPTION
            WHEN lock_not_available OR undefined_table THEN NULL;
        END;
    END LOOP;
    RETURN dropped;
END $$;

-- Deletes the settled rows of such days from the default partition; returns how many. Apart from the function above,
-- whose drops hold the strongest lock on the claims until they are committed: this may take long.
CREATE FUNCTION tidings_delivery.prune_default_claims(before_day date) RETURNS bigint
LANGUAGE sql AS $$
    WITH pruned AS (
        DELETE FROM tidings_delivery.claims_default
        WHERE recorded_day < before_day AND state NOT IN ('claimed', 'started')
        RETURNING 1
    )
    SELECT count(*) FROM pruned;
$$;
