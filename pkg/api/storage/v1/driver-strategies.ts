/** What is particular to the storage kinds that drivers and controllers write: hardly more than their rows. */

import { validateImmutable } from '#api/meta/v1/objectmeta/validation.js';
import { csidrivers, csinodes, volumeattachments } from '#api/storage/v1/resources.gen.js';
import type { CSIDriver, CSINode, VolumeAttachment } from '#api/storage/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy.js';
import { age } from '#api/table/age.js';
import { checkRequired } from '#apimachinery/validation/checks.js';
import { duplicate, notSupported } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');
const lifecycleModes: readonly string[] = ['Ephemeral', 'Persistent'];

export const csiDriverStrategy: Strategy<CSIDriver> = kindStrategy<CSIDriver>(csidrivers, {
  generationFields: ['spec'],
  defaults({ spec }) {
    spec.attachRequired ??= true;
    spec.podInfoOnMount ??= false;
    spec.storageCapacity ??= false;
    spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType';
    if ((spec.volumeLifecycleModes ?? []).length === 0) spec.volumeLifecycleModes = ['Persistent'];
    spec.requiresRepublish ??= false;
  },
  validate: ({ spec }) =>
    (spec.volumeLifecycleModes ?? [])
      .filter((mode) => !lifecycleModes.includes(mode))
      .map((mode) => notSupported(specPath.child('volumeLifecycleModes'), mode, lifecycleModes)),
  validateUpdate: (driver, old) =>
    (['attachRequired', 'volumeLifecycleModes'] as const).flatMap((field) =>
      validateImmutable(driver.spec[field], old.spec[field], specPath.child(field)),
    ),
  cells: (driver, context) => [
    driver.metadata.name ?? '',
    driver.spec.attachRequired ?? true,
    driver.spec.podInfoOnMount ?? false,
    (driver.spec.volumeLifecycleModes ?? []).join(',') || '<none>',
    age(driver.metadata.creationTimestamp, context.now),
  ],
});

export const csiNodeStrategy: Strategy<CSINode> = kindStrategy<CSINode>(csinodes, {
  validate(node) {
    const names = new Set<string>();
    return (node.spec.drivers ?? []).flatMap((driver, i) => {
      const at = specPath.child('drivers').index(i);
      const failures = [
        ...checkRequired(at.child('name'), driver.name),
        ...checkRequired(at.child('nodeID'), driver.nodeID),
      ];
      if (names.has(driver.name)) failures.push(duplicate(at.child('name'), driver.name));
      names.add(driver.name);
      return failures;
    });
  },
  cells: (node, context) => [
    node.metadata.name ?? '',
    node.spec.drivers?.length ?? 0,
    age(node.metadata.creationTimestamp, context.now),
  ],
});

export const volumeAttachmentStrategy: Strategy<VolumeAttachment> = kindStrategy<VolumeAttachment>(volumeattachments, {
  validate: ({ spec }) => [
    ...checkRequired(specPath.child('attacher'), spec.attacher),
    ...checkRequired(specPath.child('nodeName'), spec.nodeName),
  ],
  validateUpdate: (attachment, old) => validateImmutable(attachment.spec, old.spec, specPath),
  cells: (attachment, context) => [
    attachment.metadata.name ?? '',
    attachment.spec.attacher ?? '',
    attachment.spec.source?.persistentVolumeName ?? '',
    attachment.spec.nodeName ?? '',
    attachment.status?.attached ?? false,
    age(attachment.metadata.creationTimestamp, context.now),
  ],
});
