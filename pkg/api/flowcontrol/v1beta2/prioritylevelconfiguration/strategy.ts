import { declaration as schema } from '#api/flowcontrol/v1beta2/prioritylevelconfiguration.js';
import { prioritylevelconfigurations } from '#api/flowcontrol/v1beta2/resources.gen.js';
import {
  exemptName,
  fixedPriorityLevel,
  validateAutoUpdate,
  validateConditions,
} from '#api/flowcontrol/v1beta2/shared/validation.js';
import type {
  LimitedPriorityLevelConfiguration,
  PriorityLevelConfiguration,
  PriorityLevelConfigurationSpec,
  QueuingConfiguration,
} from '#api/flowcontrol/v1beta2/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import { none } from '#api/table/text.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { forbiddenField, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { type RangeWording, wordedRangesOf } from '#apimachinery/validation/ranges.js';

const specPath = FieldPath.of('spec');
const positive: RangeWording = ({ maximum }, value) =>
  value > maximum ? `must not be greater than ${maximum}` : 'must be positive';
const checkShares = wordedRangesOf(
  schema.types.LimitedPriorityLevelConfiguration,
  positive,
  'assuredConcurrencyShares',
);
const checkQueues = wordedRangesOf(
  schema.types.QueuingConfiguration,
  positive,
  'queueLengthLimit',
  'queues',
  'handSize',
);
/** A hand of queues is dealt from a 64-bit hash, of which this many bits are random enough. */
const maxHashBits = 60;

export const priorityLevelConfigurationStrategy: Strategy<PriorityLevelConfiguration> =
  kindStrategy<PriorityLevelConfiguration>(prioritylevelconfigurations, {
    generationFields: ['spec'],
    validate: (object, context) => [
      ...validateAutoUpdate(object, context.dialect),
      ...validateSpec(object.spec, object.metadata.name ?? ''),
    ],
    validateStatusUpdate: (object) => validateConditions(object.status?.conditions),
    cells({ metadata, spec }, context) {
      const queuing = spec.limited?.limitResponse?.queuing;
      const count = (of: object | undefined, value: number | undefined): string | number =>
        of === undefined ? none : (value ?? 0);
      return [
        metadata.name ?? '',
        spec.type ?? '',
        count(spec.limited, spec.limited?.assuredConcurrencyShares),
        count(queuing, queuing?.queues),
        count(queuing, queuing?.handSize),
        count(queuing, queuing?.queueLengthLimit),
        age(metadata.creationTimestamp, context.now),
      ];
    },
  });

function validateSpec(spec: PriorityLevelConfigurationSpec, name: string): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const fixed = fixedPriorityLevel(name);
  const { type = '', limited } = spec;
  if ((name === exemptName) !== (type === 'Exempt')) {
    const text = `type must be 'Exempt' if and only if name is '${exemptName}'`;
    failures.push(invalidValue(specPath.child('type'), type, text));
  }
  if (fixed !== undefined && !semanticEqual(spec, fixed)) {
    failures.push(invalidValue(specPath, spec, `spec of '${name}' must equal the fixed value`));
  }
  const at = specPath.child('limited');
  switch (type) {
    case 'Exempt':
      if (limited !== undefined) failures.push(forbiddenField(at, 'must be nil if the type is not Limited'));
      return failures;
    case 'Limited':
      if (limited === undefined) return [...failures, required(at, 'must not be empty when type is Limited')];
      return [...failures, ...validateLimited(limited, at)];
    default:
      return [...failures, notSupported(specPath.child('type'), type, schema.enums.PriorityLevelEnablement)];
  }
}

function validateLimited(limited: LimitedPriorityLevelConfiguration, path: FieldPath): readonly FieldFailure[] {
  const { type = '', queuing } = limited.limitResponse ?? {};
  const failures = checkShares(limited, path);
  const at = path.child('limitResponse');
  switch (type) {
    case 'Reject':
      if (queuing === undefined) return failures;
      return [
        ...failures,
        forbiddenField(at.child('queuing'), 'must be nil if limited.limitResponse.type is not Limited'),
      ];
    case 'Queue':
      if (queuing !== undefined) return [...failures, ...validateQueuing(queuing, at.child('queuing'))];
      return [...failures, required(at.child('queuing'), 'must not be empty if limited.limitResponse.type is Limited')];
    default:
      return [...failures, notSupported(at.child('type'), type, schema.enums.LimitResponseType)];
  }
}

function validateQueuing(queuing: QueuingConfiguration, path: FieldPath): FieldFailure[] {
  const { queues = 0, handSize = 0 } = queuing;
  const failures = [...checkQueues(queuing, path)];
  const at = path.child('handSize');
  if (handSize > queues) {
    failures.push(invalidValue(at, handSize, `should not be greater than queues (${queues})`));
  } else if (handSize > 0 && queues > 0 && hashBits(queues, handSize) > maxHashBits) {
    const text = `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${maxHashBits}`;
    failures.push(invalidValue(at, handSize, text));
  }
  return failures;
}

/** Bits needed to distinguish all hands; stops counting beyond the limit. */
function hashBits(queues: number, handSize: number): number {
  let bits = 0;
  for (let dealt = 0; dealt < handSize && bits <= maxHashBits; dealt++) bits += Math.log2(queues - dealt);
  return Math.ceil(bits);
}
