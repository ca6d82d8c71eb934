/**
 * Cgroups as systemd names them: a slice for each, whose name repeats those of all above it, as release 1.24 hands them
 * to runtimes (cm/cgroup_manager_linux.go). Pure.
 */
import { basename } from 'node:path';

const suffix = '.slice';

/** A dash parts the levels, so that none may be within a name. */
const escaped = (name: string): string => name.replaceAll('-', '_');
const unescaped = (name: string): string => name.replaceAll('_', '-');

/** Of `/kubepods/burstable/podu-1`: `kubepods-burstable-podu_1.slice`. The root is `-.slice`. */
export function sliceName(path: string): string {
  const parts = partsOf(path);
  return parts.length === 0 ? `-${suffix}` : `${parts.map(escaped).join('-')}${suffix}`;
}

/** Where that slice lies: `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podu_1.slice`. */
export function slicePath(path: string): string {
  const parts = partsOf(path);
  const slices = parts.map((_, i) => sliceName(parts.slice(0, i + 1).join('/')));
  return `/${slices.join('/')}`;
}

/** The other way round, from a slice's name or path: `/kubepods/burstable/podu-1`. */
export function pathOfSlice(slice: string): string {
  const name = basename(slice, suffix);
  return `/${name.split('-').filter(Boolean).map(unescaped).join('/')}`;
}

/** The last part of the path that such a directory stands for; undefined for what is no slice. */
export function nameOfSlice(directory: string): string | undefined {
  return directory.endsWith(suffix) ? pathOfSlice(directory).split('/').at(-1) : undefined;
}

function partsOf(path: string): string[] {
  return path.split('/').filter(Boolean);
}
