import { declaration as schema } from '#api/apps/v1/controllerrevision.js';
import { controllerrevisions } from '#api/apps/v1/resources.gen.js';
import type { ControllerRevision } from '#api/apps/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import { none } from '#api/table/text.js';
import { required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';

const checkRevision = rangesOf(schema.types.ControllerRevision, 'revision');
const dataPath = FieldPath.of('data');

export const controllerRevisionStrategy: Strategy<ControllerRevision> = kindStrategy<ControllerRevision>(
  controllerrevisions,
  {
    validate: (revision) => [
      ...(revision.data === undefined ? [required(dataPath, 'data is mandatory')] : []),
      ...checkRevision(revision, FieldPath.of()),
    ],
    cells: (revision, context) => [
      revision.metadata.name ?? '',
      controllerText(revision),
      revision.revision ?? 0,
      age(revision.metadata.creationTimestamp, context.now),
    ],
  },
);

function controllerText(revision: ControllerRevision): string {
  const controller = revision.metadata.ownerReferences?.find((owner) => owner.controller === true);
  if (controller === undefined) return none;
  const group = controller.apiVersion.includes('/') ? `.${controller.apiVersion.split('/')[0]}` : '';
  return `${controller.kind.toLowerCase()}${group}/${controller.name}`;
}
