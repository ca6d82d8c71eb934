/** References of images. */

/** `busybox` → `busybox:latest`; digests and tags stay. */
export function withDefaultTag(image: string): string {
  if (image.includes('@')) return image;
  return /:[^/]+$/.test(image) ? image : `${image}:latest`;
}

const reference =
  /^[a-zA-Z0-9][a-zA-Z0-9._-]*(:[0-9]+)?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[\w][\w.-]{0,127})?(@[a-z0-9]+:[0-9a-fA-F]{32,})?$/;

/** False for what no runtime could pull. */
export function isImageName(image: string): boolean {
  return image.length <= 512 && reference.test(image);
}

/** The pull policy where the container names none: the tag `latest` is always pulled. */
export function pullPolicy(container: { image?: string; imagePullPolicy?: string }): string {
  if (container.imagePullPolicy !== undefined && container.imagePullPolicy !== '') return container.imagePullPolicy;
  return withDefaultTag(container.image ?? '').endsWith(':latest') ? 'Always' : 'IfNotPresent';
}
