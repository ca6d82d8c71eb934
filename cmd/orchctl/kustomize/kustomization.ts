/** The fields of a `kustomization.yaml`, checked. */
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { parseYAML } from '#apimachinery/codec/yaml.js';
import { kustomizeNames } from '#apimachinery/dialect.js';
import { jsonName } from '#apimachinery/errors/go-value.js';
import type { Identity } from '#cmd/orchctl/kustomize/identity.js';
import type { FieldSpec } from '#cmd/orchctl/kustomize/specs.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

type Texts = Readonly<Record<string, string>>;

/** Patterns for the parts of identities, and selectors. */
export interface Selector extends Partial<Identity> {
  readonly labelSelector?: string;
  readonly annotationSelector?: string;
}

export interface Patch {
  readonly path?: string;
  readonly patch?: string;
  readonly target?: Selector;
  readonly options?: Readonly<Record<string, boolean>>;
}

export interface GeneratorOptions {
  readonly labels?: Texts;
  readonly annotations?: Texts;
  readonly disableNameSuffixHash?: boolean;
  readonly immutable?: boolean;
}

export interface Generator {
  readonly name?: string;
  readonly namespace?: string;
  readonly behavior?: string;
  readonly literals?: readonly string[];
  readonly files?: readonly string[];
  readonly envs?: readonly string[];
  readonly env?: string;
  readonly type?: string;
  readonly options?: GeneratorOptions;
}

export interface FieldOptions {
  readonly delimiter?: string;
  readonly index?: number;
  readonly create?: boolean;
}

export interface Replacement {
  readonly source?: Partial<Identity> & { readonly fieldPath?: string; readonly options?: FieldOptions };
  readonly targets?: readonly {
    readonly select?: Selector;
    readonly reject?: readonly Selector[];
    readonly fieldPaths?: readonly string[];
    readonly options?: FieldOptions;
  }[];
}

export interface Variable {
  readonly name: string;
  readonly objref: Partial<Identity> & { readonly apiVersion?: string };
  readonly fieldref?: { readonly fieldPath?: string };
}

export interface ImageChange {
  readonly name: string;
  readonly newName?: string;
  readonly newTag?: string;
  readonly digest?: string;
}

export interface Kustomization {
  readonly kind: string;
  readonly namePrefix: string;
  readonly nameSuffix: string;
  readonly namespace: string;
  readonly commonLabels: Texts;
  readonly commonAnnotations: Texts;
  readonly labels: readonly {
    readonly pairs?: Texts;
    readonly includeSelectors?: boolean;
    readonly includeTemplates?: boolean;
    readonly fields?: readonly FieldSpec[];
  }[];
  readonly patchesStrategicMerge: readonly string[];
  readonly patchesJson6902: readonly Patch[];
  readonly patches: readonly Patch[];
  readonly images: readonly ImageChange[];
  readonly replacements: readonly (Replacement & { readonly path?: string })[];
  readonly replicas: readonly { readonly name: string; readonly count: number }[];
  readonly vars: readonly Variable[];
  readonly resources: readonly string[];
  readonly components: readonly string[];
  readonly configMapGenerator: readonly Generator[];
  readonly secretGenerator: readonly Generator[];
  readonly generatorOptions: GeneratorOptions;
  readonly configurations: readonly string[];
  readonly buildMetadata: readonly string[];
}

type Shape = 'text' | 'texts' | 'list' | 'map';

const fields: Readonly<Record<string, Shape>> = {
  ...{ apiVersion: 'text', kind: 'text', metadata: 'map', openapi: 'map' },
  ...{ namePrefix: 'text', nameSuffix: 'text', namespace: 'text', commonLabels: 'map', commonAnnotations: 'map' },
  ...{ labels: 'list', patchesStrategicMerge: 'texts', patchesJson6902: 'list', patches: 'list', images: 'list' },
  ...{ replacements: 'list', replicas: 'list', vars: 'list', resources: 'texts', components: 'texts', crds: 'texts' },
  ...{ bases: 'texts', configMapGenerator: 'list', secretGenerator: 'list', generatorOptions: 'map' },
  ...{ configurations: 'texts', buildMetadata: 'texts', generators: 'texts', transformers: 'texts' },
  ...{ validators: 'texts', helmGlobals: 'map', helmCharts: 'list', helmChartInflationGenerator: 'list' },
  ...{ inventory: 'map' },
};

/** Fields that run other programs, or change how objects are understood. */
const unsupported = [
  ...['generators', 'transformers', 'validators', 'helmCharts', 'helmGlobals', 'helmChartInflationGenerator'],
  ...['crds', 'openapi', 'inventory'],
];

const isOf: Readonly<Record<Shape, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  map: isJsonObject,
  list: (value) => Array.isArray(value) && value.every(isJsonObject),
  texts: (value) => Array.isArray(value) && value.every((each) => typeof each === 'string'),
};

/** Throws a CommandError that names the folder, and what is wrong. */
export function parseKustomization(text: string, folder: string): Kustomization {
  const value = valuesOf(text, folder);
  for (const name of unsupported) {
    if (value[name] !== undefined) throw new CommandError(`the field ${name} of kustomizations is not supported`);
  }
  const kind = (value['kind'] as string | undefined) ?? 'Kustomization';
  const { apiVersion, componentVersion } = kustomizeNames;
  const version = kind === 'Component' ? componentVersion : apiVersion;
  const faults = [
    ...(kind === 'Kustomization' || kind === 'Component' ? [] : ['kind should be Kustomization or Component']),
    ...((value['apiVersion'] ?? version) === version ? [] : [`apiVersion for ${kind} should be ${version}`]),
  ];
  if (faults.length > 0) {
    throw new CommandError(`Failed to read kustomization file under ${folder}:\n${faults.join('\n')}`);
  }
  const empty: Readonly<Record<Shape, unknown>> = { text: '', map: {}, list: [], texts: [] };
  const whole = Object.fromEntries(Object.entries(fields).map(([name, shape]) => [name, value[name] ?? empty[shape]]));
  const { bases, resources } = whole as { bases: string[]; resources: string[] };
  return { ...whole, kind, resources: [...resources, ...bases] } as unknown as Kustomization;
}

function valuesOf(text: string, folder: string): JsonObject {
  let value: unknown;
  try {
    value = parseYAML(text) ?? {};
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new CommandError(`invalid Kustomization in ${folder}: ${error.message}`);
  }
  if (!isJsonObject(value)) throw new CommandError(`invalid Kustomization in ${folder}: it is no map`);
  // The older name of the field.
  const { imageTags, ...others } = value;
  if (imageTags !== undefined) others['images'] ??= imageTags;
  const result: JsonObject = {};
  for (const [key, member] of Object.entries(others)) {
    // As Go's decoder, which does not tell capitals from small letters.
    const name = Object.keys(fields).find((each) => each.toLowerCase() === key.toLowerCase());
    const shape = name === undefined ? undefined : fields[name];
    if (name === undefined || shape === undefined) throw new CommandError(`json: unknown field ${JSON.stringify(key)}`);
    if (member !== null) {
      if (!isOf[shape](member)) {
        throw new CommandError(`json: cannot unmarshal ${jsonName(member)} into Go struct field Kustomization.${name}`);
      }
      result[name] = member;
    }
  }
  return result;
}
