/**
 * systemd's names of cgroups: one slice per level, whose name contains those of all levels above, as release 1.24
 * passes them to runtimes (cm/cgroup_manager_linux.go). Pure.
 */
import { basename } from 'node:path';

const suffix = '.slice';

/** Dashes separate levels, so they are escaped within names. */
const escaped = (name: string): string => name.replaceAll('-', '_');
const unescaped = (name: string): string => name.replaceAll('_', '-');

/** `/kubepods/burstable/podu-1` → `kubepods-burstable-podu_1.slice`. The root is `-.slice`. */
export function sliceName(path: string): string {
  const parts = partsOf(path);
  return parts.length === 0 ? `-${suffix}` : `${parts.map(escaped).join('-')}${suffix}`;
}

/** The slice's path: `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podu_1.slice`. */
export function slicePath(path: string): string {
  const parts = partsOf(path);
  const slices = parts.map((_, i) => sliceName(parts.slice(0, i + 1).join('/')));
  return `/${slices.join('/')}`;
}

/** The inverse, from a slice's name or path: `/kubepods/burstable/podu-1`. */
export function pathOfSlice(slice: string): string {
  const name = basename(slice, suffix);
  return `/${name.split('-').filter(Boolean).map(unescaped).join('/')}`;
}

/** The last path element that a slice's directory stands for; undefined for other directories. */
export function nameOfSlice(directory: string): string | undefined {
  return directory.endsWith(suffix) ? pathOfSlice(directory).split('/').at(-1) : undefined;
}

function partsOf(path: string): string[] {
  return path.split('/').filter(Boolean);
}
