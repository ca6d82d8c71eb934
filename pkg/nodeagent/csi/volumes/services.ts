/** What the operations on all CSI volumes of a node share. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Drivers } from '#nodeagent/csi/driver/drivers.js';
import type { Attachments } from '#nodeagent/csi/volumes/attachments.js';
import type { Credentials } from '#nodeagent/csi/volumes/credentials.js';
import type { DriverObjects } from '#nodeagent/csi/volumes/driver-objects.js';
import type { VolumeLedger } from '#nodeagent/csi/volumes/ledger.js';
import type { CSIPaths } from '#nodeagent/csi/volumes/paths.js';

export interface VolumeServices {
  readonly dialect: Dialect;
  readonly log: Logger;
  readonly nodeName: string;
  readonly drivers: Pick<Drivers, 'operate'>;
  readonly paths: CSIPaths;
  readonly ledger: VolumeLedger;
  readonly objects: Pick<DriverObjects, 'get'>;
  readonly attachments: Pick<Attachments, 'publishContext'>;
  readonly credentials: Credentials;
  /** Drivers that can give files to the pod's group do so (gate DelegateFSGroupToCSIDriver). */
  readonly delegatesGroup: boolean;
}
