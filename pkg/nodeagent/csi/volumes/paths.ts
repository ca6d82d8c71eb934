/**
 * Where CSI volumes are on the node. The directories are those of 1.24, so that an agent and 1.24's find each other's
 * volumes. Pure.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';

/** Of a volume with files. */
const dataFile = 'vol_data.json';

/** The hexadecimal SHA-256 of a text. */
function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The driver's name of a volume that is defined inside a pod. */
export function inlineHandle(podUID: string, volume: string): string {
  return `csi-${sha256(`${podUID}${volume}`)}`;
}

/** Name of the VolumeAttachment that attaches a volume to a node. */
export function attachmentName(handle: string, driver: string, node: string): string {
  return `csi-${sha256(`${handle}${driver}${node}`)}`;
}

export class CSIPaths {
  readonly #plugin: string;
  readonly #pods: string;
  /** Name of the plugin in the directories of pods. */
  readonly #escaped: string;
  /** Name of the plugin in messages, metrics and names of volumes. */
  readonly pluginName: string;

  /** `rootDir`: the agent's, without links. `labelDomain`: the dialect's. */
  constructor(rootDir: string, labelDomain: string) {
    this.pluginName = `${labelDomain}/csi`;
    this.#plugin = join(rootDir, 'plugins', labelDomain, 'csi');
    this.#pods = join(rootDir, 'pods');
    this.#escaped = `${labelDomain}~csi`;
  }

  /** The data of staged volumes, and of devices in `volumeDevices`. */
  get root(): string {
    return this.#plugin;
  }

  /** Name of a volume in the status of nodes. */
  uniqueName(driver: string, handle: string): string {
    return `${this.pluginName}/${driver}^${handle}`;
  }

  /** Where a volume with files is staged. */
  staging(driver: string, handle: string): string {
    return join(this.#plugin, driver, sha256(handle), 'globalmount');
  }

  /** The directories of a pod's volumes with files, and of its devices. */
  ofPod(uid: string): { readonly files: string; readonly devices: string } {
    const pod = join(this.#pods, uid);
    return { files: join(pod, 'volumes', this.#escaped), devices: join(pod, 'volumeDevices', this.#escaped) };
  }

  /** Where a volume with files is published; its data is in the directory above. `specName`: the volume's in the pod, or the persistent volume's. */
  target(uid: string, specName: string): string {
    return join(this.ofPod(uid).files, specName, 'mount');
  }

  /** The places of a persistent volume's device. */
  device(specName: string): DevicePaths {
    const devices = join(this.#plugin, 'volumeDevices');
    return {
      all: devices,
      data: join(devices, specName, 'data'),
      own: join(devices, specName),
      map: join(devices, specName, 'dev'),
      staging: join(devices, 'staging', specName),
      published: join(devices, 'publish', specName),
    };
  }
}

export interface DevicePaths {
  /** Parent of the others. */
  readonly all: string;
  /** Everything of the volume except what the driver has. */
  readonly own: string;
  /** Directory of the volume's data. */
  readonly data: string;
  /** Bind mounts of the device, named after the pods. */
  readonly map: string;
  readonly staging: string;
  /** Devices that the driver publishes, named after the pods. */
  readonly published: string;
}

/** The file that describes a volume, in its directory. */
export function dataFileIn(dir: string): string {
  return join(dir, dataFile);
}
