/** References of images. */

/** `busybox` → `busybox:latest`; digests and tags stay. */
export function withDefaultTag(image: string): string {
  if (image.includes('@')) return image;
  return /:[^/]+$/.test(image) ? image : `${image}:latest`;
}

const reference =
  /^[a-zA-Z0-9][a-zA-Z0-9._-]*(:[0-9]+)?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[\w][\w.-]{0,127})?(@[a-z0-9]+:[0-9a-fA-F]{32,})?$/;
const invalid = 'invalid reference format';
/** Of registry and repository together. */
const maxNameLength = 255;

/** Why no runtime could pull it, in the words of release 1.24's parser of references; undefined when one could. */
export function imageNameProblem(image: string): string | undefined {
  if (/^[a-f0-9]{64}$/.test(image))
    return `invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`;
  const slash = image.indexOf('/');
  const first = image.slice(0, Math.max(0, slash));
  const isRegistry = first === 'localhost' || /[.:]|[A-Z]/.test(first);
  const [repository = ''] = (isRegistry ? image.slice(slash + 1) : image).split('@');
  const path = repository.replace(/:[^/]*$/, '');
  if (path !== path.toLowerCase()) return `${invalid}: repository name must be lowercase`;
  if (!reference.test(image)) return invalid;
  const name = isRegistry ? `${first}/${path}` : `docker.io/${slash < 0 ? 'library/' : ''}${path}`;
  return name.length > maxNameLength ? `repository name must not be more than ${maxNameLength} characters` : undefined;
}

/** The pull policy where the container names none: the tag `latest` is always pulled. */
export function pullPolicy(container: { image?: string; imagePullPolicy?: string }): string {
  if (container.imagePullPolicy !== undefined && container.imagePullPolicy !== '') return container.imagePullPolicy;
  return withDefaultTag(container.image ?? '').endsWith(':latest') ? 'Always' : 'IfNotPresent';
}
