/** `apps/v1` is version `v1` of group `apps`; the core group is empty: `v1`. */
export function parseGroupVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const slash = apiVersion.indexOf('/');
  return { group: apiVersion.slice(0, Math.max(0, slash)), version: apiVersion.slice(slash + 1) };
}
