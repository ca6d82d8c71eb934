/** A volume as containers use it. */
export interface MountedVolume {
  /** Host path of a directory, file or device. */
  readonly path: string;
  readonly kind: 'files' | 'device';
  readonly readOnly: boolean;
  /** Name of the volume in directories, if it is not the pod's name for it. */
  readonly specName?: string;
  /** The runtime gives the volume's files the container's SELinux label. */
  readonly relabels?: boolean;
  /** Additional group of the pod's processes, from an annotation of the persistent volume. */
  readonly group?: number;
}
