/** The file that says which volume of which driver is in a directory; its members are those of 1.24. */
import { mkdir, readFile, rm } from 'node:fs/promises';
import { isAbsent } from '#nodeagent/csi/volumes/absent.js';
import { dataFileIn } from '#nodeagent/csi/volumes/paths.js';
import { replaceIfChanged } from '#nodeagent/files/regular-file.js';

export interface VolumeData {
  readonly driverName: string;
  readonly volumeHandle: string;
  /** Members below are absent for staged volumes. */
  readonly specVolID?: string;
  readonly nodeName?: string;
  readonly attachmentID?: string;
  /** Absent for devices. */
  readonly volumeLifecycleMode?: 'Persistent' | 'Ephemeral';
}

/** A larger file is not one of an agent. */
const maxBytes = 1 << 20;

/** Writes the file into an existing directory. A crash leaves the old file or the new one. */
export async function saveVolumeData(dir: string, data: VolumeData): Promise<void> {
  await replaceIfChanged(dataFileIn(dir), `${JSON.stringify(data, Object.keys(data).sort())}\n`, 0o644);
}

/** Undefined without a file, and for one that is no volume's data, such as after a loss of power. */
export async function loadVolumeData(dir: string): Promise<VolumeData | undefined> {
  const path = dataFileIn(dir);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
  return parse(text);
}

function parse(text: string): VolumeData | undefined {
  if (text.length > maxBytes) return undefined;
  try {
    const data = JSON.parse(text) as Partial<Record<keyof VolumeData, unknown>> | null;
    if (typeof data?.driverName !== 'string' || typeof data.volumeHandle !== 'string') return undefined;
    return data as VolumeData;
  } catch {
    return undefined;
  }
}

/** Removes the file and what a crash during its writing leaves. */
export async function removeVolumeData(dir: string): Promise<void> {
  await rm(dataFileIn(dir), { force: true });
  await rm(`${dataFileIn(dir)}.new`, { force: true });
}

/** Creates a directory that only the agent and its group may list. */
export async function makePrivateDirectory(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o750 });
}
