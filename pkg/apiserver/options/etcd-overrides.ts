/** One entry of --etcd-servers-overrides: `group/resource#servers`, the servers separated by semicolons. */

export interface EtcdOverride {
  /** Empty for the core group. */
  readonly group: string;
  /** `*`: all resources of the group. */
  readonly resource: string;
  readonly servers: readonly string[];
}

/** Undefined for an invalid entry. */
export function parseOverride(text: string): EtcdOverride | undefined {
  const [name, servers, ...more] = text.split('#');
  const [group, resource, ...rest] = (name ?? '').split('/');
  if (group === undefined || resource === undefined || servers === undefined || more.length + rest.length > 0) {
    return undefined;
  }
  return { group, resource, servers: servers.split(';') };
}

export function isEtcdAddress(text: string): boolean {
  return /^(https?|unixs?):\/\/[^/\s]+\/?$/.test(text);
}
