SELECT kind, name, definition FROM (
  SELECT 'relation' AS kind, CAST(c.relname AS TEXT) AS name,
    CAST(c.relkind AS TEXT) || ' ' || CAST(c.relrowsecurity AS TEXT) AS definition
  FROM pg_catalog.pg_class c WHERE c.relnamespace = to_regnamespace('windlass')
  UNION ALL
  SELECT 'column', c.relname || '.' || a.attname,
    pg_catalog.format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
      || ' ' || CAST(a.attidentity AS TEXT) || CAST(a.attgenerated AS TEXT)
      || coalesce(' default ' || pg_catalog.pg_get_expr(d.adbin, d.adrelid), '')
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE c.relnamespace = to_regnamespace('windlass') AND c.relkind NOT IN ('i', 'I', 'S')
  UNION ALL
  SELECT 'index', CAST(c.relname AS TEXT), pg_catalog.pg_get_indexdef(c.oid)
  FROM pg_catalog.pg_class c WHERE c.relnamespace = to_regnamespace('windlass') AND c.relkind IN ('i', 'I')
  UNION ALL
  SELECT 'constraint', c.relname || '.' || o.conname, pg_catalog.pg_get_constraintdef(o.oid)
  FROM pg_catalog.pg_constraint o JOIN pg_catalog.pg_class c ON c.oid = o.conrelid
  WHERE c.relnamespace = to_regnamespace('windlass') AND o.contype <> 'n'
  UNION ALL
  SELECT 'trigger', c.relname || '.' || t.tgname, pg_catalog.pg_get_triggerdef(t.oid)
  FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
  WHERE c.relnamespace = to_regnamespace('windlass') AND NOT t.tgisinternal
  UNION ALL
  SELECT 'rule', c.relname || '.' || r.rulename, pg_catalog.pg_get_ruledef(r.oid)
  FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class c ON c.oid = r.ev_class
  WHERE c.relnamespace = to_regnamespace('windlass')
  UNION ALL
  SELECT 'policy', c.relname || '.' || p.polname, ''
  FROM pg_catalog.pg_policy p JOIN pg_catalog.pg_class c ON c.oid = p.polrelid
  WHERE c.relnamespace = to_regnamespace('windlass')
  UNION ALL
  SELECT 'function', CAST(p.proname AS TEXT), '' FROM pg_catalog.pg_proc p
  WHERE p.pronamespace = to_regnamespace('windlass')
  UNION ALL
  SELECT 'operator', CAST(o.oprname AS TEXT), '' FROM pg_catalog.pg_operator o
  WHERE o.oprnamespace = to_regnamespace('windlass')
  UNION ALL
  SELECT 'type', CAST(t.typname AS TEXT), '' FROM pg_catalog.pg_type t
  WHERE t.typnamespace = to_regnamespace('windlass') AND t.typrelid = 0 AND t.typelem = 0
  UNION ALL
  SELECT 'child', CAST(CAST(i.inhrelid AS regclass) AS TEXT), ''
  FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhparent
  WHERE c.relnamespace = to_regnamespace('windlass')
) AS object ORDER BY kind, name
