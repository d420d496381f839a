"""Groups that compute some rows at a time: which rows they read (one module for each kind of `RowMap`;
`group_rows`), how they keep pace (`stages`), and which rows are in memory between them (`rings`)."""
