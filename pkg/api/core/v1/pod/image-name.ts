/** Names of images: `registry.example.com:5000/team/web:1.0@sha256:…` (grammar of distribution/reference 2.8). */

const domain = /^[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::[0-9]+)?$/;
const pathComponent = /^[a-z0-9]+(?:(?:[_.]|__|-+)[a-z0-9]+)*$/;
const tagForm = /^\w[\w.-]{0,127}$/;
const identifier = /^[a-f0-9]{64}$/;

/** Digits of the digests that are known, by their algorithm. */
const digestLengths: ReadonlyMap<string, number> = new Map([
  ['sha256', 64],
  ['sha384', 96],
  ['sha512', 128],
]);

/** Where names without a registry come from, and how long a name may be with its registry. */
const defaultDomain = 'docker.io';
const maxNameLength = 255;

/** The image's tag; `latest` where there is neither tag nor digest; empty for a mere digest, and for what names no image. */
export function imageTag(image: string): string {
  if (identifier.test(image)) return '';
  const at = image.indexOf('@');
  const digest = at < 0 ? undefined : image.slice(at + 1);
  const tagged = at < 0 ? image : image.slice(0, at);
  const colon = tagged.lastIndexOf(':');
  const hasTag = colon > tagged.lastIndexOf('/');
  const name = hasTag ? tagged.slice(0, colon) : tagged;
  const tag = hasTag ? tagged.slice(colon + 1) : undefined;
  const valid = isName(name) && (tag === undefined || tagForm.test(tag)) && (digest === undefined || isDigest(digest));
  if (!valid) return '';
  return tag ?? (digest === undefined ? 'latest' : '');
}

function isName(name: string): boolean {
  if (name.length > maxNameLength) return false;
  const slash = name.indexOf('/');
  const first = name.slice(0, Math.max(0, slash));
  const isDomain = slash >= 0 && (/[.:]/.test(first) || first === 'localhost');
  const path = isDomain ? name.slice(slash + 1) : name;
  const full = `${isDomain ? first : defaultDomain}/${isDomain || slash >= 0 ? path : `library/${path}`}`;
  if (full.length > maxNameLength || (isDomain && !domain.test(first))) return false;
  return path.split('/').every((component) => pathComponent.test(component));
}

function isDigest(digest: string): boolean {
  const [algorithm = '', hex = ''] = digest.split(':');
  return digest.split(':').length === 2 && hex.length === digestLengths.get(algorithm) && /^[a-f0-9]+$/.test(hex);
}
