/** Groups of files that are tested together. */

const workloadGroups = /^(printed\.)?(apps|batch|autoscaling|policy)\./;

export function isCore(file: string): boolean {
  return /^(printed\.)?core\./.test(file);
}

/** Definitions of custom kinds, and their objects. */
export function isCustom(file: string): boolean {
  return file.startsWith('custom.');
}

export function isWorkload(file: string): boolean {
  return workloadGroups.test(file);
}
