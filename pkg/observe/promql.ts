/**
 * Queries are written with braces behind the name of every series, `up{}`, and without the label `cluster`: it is put in here,
 * so that one Prometheus may watch several clusters.
 */

/** The query for one cluster; `cluster` may be a variable of Grafana. Braces occur in selectors only. */
export function ofCluster(query: string, cluster: string): string {
  return query.replaceAll(/\{(?=(\})?)/g, (_, empty: string | undefined) =>
    empty === undefined ? `{cluster="${cluster}", ` : `{cluster="${cluster}"`,
  );
}
