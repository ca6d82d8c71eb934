/** One entry of --etcd-servers-overrides: `group/resource#servers`, the servers separated by semicolons. */

export interface EtcdOverride {
  /** Empty for the core. */
  readonly group: string;
  /** `*`: all resources of the group. */
  readonly resource: string;
  readonly servers: readonly string[];
}

/** Throws a RangeError with the words of 1.24. */
export function parseOverride(text: string): EtcdOverride {
  const [name, servers, ...more] = text.split('#');
  const [group, resource, ...rest] = (name ?? '').split('/');
  if (group === undefined || resource === undefined || servers === undefined || more.length + rest.length > 0) {
    throw new RangeError(
      '--etcd-servers-overrides invalid, must be of format: group/resource#servers, where servers are URLs, semicolon separated',
    );
  }
  return { group, resource, servers: servers.split(';') };
}

export function isEtcdAddress(text: string): boolean {
  return /^(https?|unixs?):\/\/[^/\s]+\/?$/.test(text);
}
