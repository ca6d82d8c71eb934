/** Files of cases that are tested together. */

const workloadGroups = /^(apps|batch|autoscaling|policy)\./;

export function isCore(file: string): boolean {
  return file.startsWith('core.');
}

/** Definitions of custom kinds, and objects of these kinds. */
export function isCustom(file: string): boolean {
  return file.startsWith('custom.');
}

export function isWorkload(file: string): boolean {
  return workloadGroups.test(file);
}
