/** Matches images with registry entries that may contain globs (KEP-2133, release 1.24). */

/** Host, port and path of `host[:port][/path]`. */
interface RegistryPath {
  readonly labels: readonly string[];
  readonly port: string;
  readonly path: string;
}

/**
 * Registry and repository of an image, without tag and digest, as release 1.24 passes them to credential providers:
 * `busybox:1` → `docker.io/library/busybox`, `example.com:5000/a/b@sha256:…` → `example.com:5000/a/b`.
 */
export function repositoryOf(image: string): string {
  const name = image.replace(/@.*$/, '').replace(/:[^:/]*$/, '');
  const slash = name.indexOf('/');
  const first = name.slice(0, Math.max(slash, 0));
  const isHost = first === 'localhost' || /[.:]/.test(first);
  if (!isHost) return slash < 0 ? `docker.io/library/${name}` : `docker.io/${name}`;
  const [host, path] = [first === 'index.docker.io' ? 'docker.io' : first, name.slice(slash + 1)];
  return host === 'docker.io' && !path.includes('/') ? `docker.io/library/${path}` : `${host}/${path}`;
}

/** The registry of a docker configuration's entry, without scheme and without the API version of old clients. */
export function registryKey(entry: string): string {
  const place = entry.replace(/^https?:\/\//, '');
  const slash = place.indexOf('/');
  if (slash < 0) return place;
  const [host, path] = [place.slice(0, slash), place.slice(slash)];
  const effective = /^\/v[12]\//.test(path) ? path.slice(3) : path;
  return effective === '/' ? host : `${host}${effective}`;
}

function parseRegistryPath(text: string): RegistryPath {
  const slash = text.indexOf('/');
  const host = slash < 0 ? text : text.slice(0, slash);
  const [, name = '', port = ''] = /^(.*?)(?::([0-9]*))?$/s.exec(host) ?? [];
  return { labels: name.split('.'), port, path: slash < 0 ? '' : text.slice(slash) };
}

/** `*` matches any characters, `?` one. Backtracks to the last `*` only, since keys are untrusted input. */
function matchesGlob(glob: string, text: string): boolean {
  let [at, from] = [0, 0];
  let star: { readonly at: number; from: number } | undefined;
  while (from < text.length) {
    if (glob[at] === '*') {
      star = { at: ++at, from };
    } else if (at < glob.length && (glob[at] === '?' || glob[at] === text[from])) {
      at++;
      from++;
    } else if (star !== undefined) {
      at = star.at;
      from = ++star.from;
    } else return false;
  }
  return /^\**$/.test(glob.slice(at));
}

/**
 * True if the key's credential applies: the same number of domain parts, each matching, the same port, and the key's
 * path a prefix of the repository's. Keys of Docker's own registry match every image without a host.
 */
export function matchesRegistry(key: string, repository: string): boolean {
  const [pattern, image] = [parseRegistryPath(key), parseRegistryPath(repository)];
  if (pattern.port !== image.port || pattern.labels.length !== image.labels.length) return false;
  if (!image.path.startsWith(pattern.path)) return false;
  return pattern.labels.every((glob, n) => matchesGlob(glob, image.labels[n] ?? ''));
}

/** Key of the fallback entry for Docker's own registry. */
const defaultRegistryKey = 'index.docker.io';

/**
 * Values of the matching entries in the order of use: keys in descending order, so that longer paths come first, and
 * entries of equal keys in their original order. Images of Docker's own registry fall back to `defaultRegistryKey`.
 */
export function matchingEntries<T>(
  entries: readonly { readonly key: string; readonly value: T }[],
  repository: string,
): T[] {
  const matches = entries.filter(({ key }) => matchesRegistry(key, repository));
  const fallback = repository.startsWith('docker.io/') && matches.length === 0;
  const all = fallback ? entries.filter(({ key }) => key === defaultRegistryKey) : matches;
  return all.sort((a, b) => (a.key < b.key ? 1 : a.key > b.key ? -1 : 0)).map(({ value }) => value);
}
