/** The strategies of CSI drivers, CSI nodes and volume attachments. */

import {
  attachPath,
  specPath,
  validateAttachment,
  validateDriver,
  validateNodeDrivers,
  validateSameDrivers,
} from '#api/storage/v1/driver/validation.js';
import { csidrivers, csinodes, volumeattachments } from '#api/storage/v1/resources.gen.js';
import type { CSIDriver, CSINode, VolumeAttachment } from '#api/storage/v1/types.gen.js';
import { changedField } from '#api/strategy/immutable-fields.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import { semanticEqual } from '#apimachinery/equality.js';

/** Immutable fields, in the order of messages. */
const fixed = ['attachRequired', 'fsGroupPolicy', 'podInfoOnMount', 'volumeLifecycleModes'] as const;

export const csiDriverStrategy: Strategy<CSIDriver> = kindStrategy<CSIDriver>(csidrivers, {
  anyGenerateNameOnUpdate: true,
  deletionAnswer: 'object',
  allowUnconditionalUpdate: false,
  generationFields: ['spec.tokenRequests', 'spec.requiresRepublish'],
  generationFromFirstChange: true,
  validate: (driver) => validateDriver(driver),
  validateUpdate: ({ spec }, { spec: old }, { scheme }) => {
    const type = scheme.type('storage.v1.CSIDriverSpec');
    return fixed
      .filter((name) => !semanticEqual(spec[name], old[name]))
      .map((name) => {
        const path = name === 'attachRequired' ? attachPath : specPath.child(name);
        return changedField(type, { name, value: spec[name] }, path);
      });
  },
  cells: (driver, context) => [
    driver.metadata.name ?? '',
    driver.spec.attachRequired ?? true,
    driver.spec.podInfoOnMount ?? false,
    driver.spec.storageCapacity ?? false,
    driver.spec.tokenRequests?.map(({ audience }) => audience).join(',') ?? '<unset>',
    driver.spec.requiresRepublish ?? false,
    (driver.spec.volumeLifecycleModes ?? []).join(',') || '<none>',
    age(driver.metadata.creationTimestamp, context.now),
  ],
});

export const csiNodeStrategy: Strategy<CSINode> = kindStrategy<CSINode>(csinodes, {
  deletionAnswer: 'object',
  allowUnconditionalUpdate: false,
  validate: (node) => validateNodeDrivers(node.spec.drivers ?? []),
  validateUpdate: (node, old) => validateSameDrivers(node, old),
  cells: (node, context) => [
    node.metadata.name ?? '',
    node.spec.drivers?.length ?? 0,
    age(node.metadata.creationTimestamp, context.now),
  ],
});

export const volumeAttachmentStrategy: Strategy<VolumeAttachment> = kindStrategy<VolumeAttachment>(volumeattachments, {
  deletionAnswer: 'object',
  allowUnconditionalUpdate: false,
  validate: (attachment, context, old) => validateAttachment(attachment, context, old === undefined),
  validateStatusUpdate: (attachment, _old, context) => validateAttachment(attachment, context, false),
  cells: (attachment, context) => [
    attachment.metadata.name ?? '',
    attachment.spec.attacher ?? '',
    attachment.spec.source?.persistentVolumeName ?? '',
    attachment.spec.nodeName ?? '',
    attachment.status?.attached ?? false,
    age(attachment.metadata.creationTimestamp, context.now),
  ],
});
