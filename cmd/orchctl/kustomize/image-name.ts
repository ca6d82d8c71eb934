/** Changes of images by their names. Pure. */
import type { ImageChange } from '#cmd/orchctl/kustomize/kustomization.js';

/** The image with another name, tag or digest; the same where the change is for another one. */
export function changedImage(image: string, { name, newName = '', newTag = '', digest = '' }: ImageChange): string {
  if (!new RegExp(`^${name}(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?$`).test(image)) return image;
  const parts = splitImage(image);
  if (newName !== '') parts.name = newName;
  // Either of them replaces both.
  if (newTag !== '' || digest !== '') {
    parts.tag = newTag;
    parts.digest = digest;
  }
  return `${parts.name}${parts.tag === '' ? '' : `:${parts.tag}`}${parts.digest === '' ? '' : `@${parts.digest}`}`;
}

/** A colon in front of the first slash is that of a port. */
function splitImage(image: string): { name: string; tag: string; digest: string } {
  const slash = Math.max(0, image.indexOf('/'));
  const at = image.indexOf('@', slash);
  const digest = at < 0 ? '' : image.slice(at + 1);
  const named = at < 0 ? image : image.slice(0, at);
  const colon = named.indexOf(':', slash);
  if (colon < 0) return { name: named, tag: '', digest };
  return { name: named.slice(0, colon), tag: named.slice(colon + 1), digest };
}
