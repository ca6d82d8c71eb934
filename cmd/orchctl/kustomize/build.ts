/** Builds the objects of a kustomization. */
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { parseYAML } from '#apimachinery/codec/yaml.js';
import { kustomizeNames } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Folder } from '#cmd/orchctl/kustomize/files.js';
import { contentHash, generate } from '#cmd/orchctl/kustomize/generators.js';
import { metadataOf, newResource, rememberIdentity } from '#cmd/orchctl/kustomize/identity.js';
import {
  type Kustomization,
  parseKustomization,
  type Replacement,
  type Variable,
} from '#cmd/orchctl/kustomize/kustomization.js';
import { followNames } from '#cmd/orchctl/kustomize/names.js';
import { MalformedYAML, objectsIn } from '#cmd/orchctl/kustomize/objects.js';
import { applyOperationsEntry, applyPatchEntry, applyStrategicPatches } from '#cmd/orchctl/kustomize/patches.js';
import { replaceFields } from '#cmd/orchctl/kustomize/replacements.js';
import { ResourceList } from '#cmd/orchctl/kustomize/resource-list.js';
import { ownSpecs, type SpecTable, withSpecs } from '#cmd/orchctl/kustomize/specs.js';
import {
  addToNames,
  labelSpecs,
  setImages,
  setMembers,
  setNamespace,
  setReplicas,
} from '#cmd/orchctl/kustomize/transformers.js';
import { bindVariables, resolveVariables } from '#cmd/orchctl/kustomize/variables.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

export interface BuildOptions {
  /** Values of variables that files name without value. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly warn: (text: string) => void;
}

/** What a kustomization and those below it have come to. */
interface Accumulation {
  readonly list: ResourceList;
  specs: SpecTable;
  readonly variables: Variable[];
}

/** The objects in their order. Throws a CommandError. */
export async function buildKustomization(folder: Folder, options: BuildOptions): Promise<JsonObject[]> {
  const kustomization = load(folder);
  const { list, specs, variables } = await accumulate(folder, kustomization, empty(), options);
  for (const resource of list.all) {
    if (!resource.needsHash) continue;
    rememberIdentity(resource);
    const metadata = metadataOf(resource.object);
    metadata['name'] = `${String(metadata['name'])}-${contentHash(resource.object)}`;
  }
  followNames(list, specs.nameReference);
  const unused = resolveVariables(list, variables, specs.varReference);
  if (unused.length > 0) options.warn(`well-defined vars that were never replaced: ${unused.join(',')}`);
  return list.all.map(({ object }) => object);
}

function empty(): Accumulation {
  return { list: new ResourceList(), specs: ownSpecs, variables: [] };
}

function load(folder: Folder): Kustomization {
  return parseKustomization(folder.description().text, folder.root);
}

async function accumulate(
  folder: Folder,
  kustomization: Kustomization,
  into: Accumulation,
  options: BuildOptions,
): Promise<Accumulation> {
  for (const path of kustomization.resources) {
    await wrapped('accumulating resources', () => addResource(folder, path, into, options));
  }
  let result = into;
  for (const path of kustomization.components) {
    const inner = result;
    result = await wrapped('accumulating components', () => component(folder, path, inner, options));
  }
  for (const path of kustomization.configurations) {
    result.specs = withSpecs(result.specs, parseYAML((await folder.read(path)).toString('utf8')) as Partial<SpecTable>);
  }
  const context = { folder, env: options.env };
  for (const each of kustomization.secretGenerator) {
    result.list.absorb(await generate('Secret', each, kustomization.generatorOptions, context));
  }
  for (const each of kustomization.configMapGenerator) {
    result.list.absorb(await generate('ConfigMap', each, kustomization.generatorOptions, context));
  }
  await transform(folder, kustomization, result);
  bindVariables(result.list, kustomization.vars);
  addVariables(result.variables, kustomization.vars);
  // Objects for local programs only.
  result.list.keep(({ object }) => {
    const annotations = (metadataOf(object)['annotations'] ?? {}) as JsonObject;
    return (annotations[kustomizeNames.localConfig] ?? 'false') === 'false';
  });
  return result;
}

async function wrapped<T>(words: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new CommandError(`${words}: ${error.message}`);
  }
}

function addVariables(variables: Variable[], added: readonly Variable[]): void {
  for (const each of added) {
    if (variables.some(({ name }) => name === each.name)) {
      throw new CommandError(`var '${each.name}' already encountered`);
    }
    variables.push(each);
  }
}

/** A file with objects, else the folder of a kustomization. */
async function addResource(folder: Folder, path: string, into: Accumulation, options: BuildOptions): Promise<void> {
  let step = 'accumulating';
  let fault: string;
  try {
    const resources = objectsIn(await folder.read(path), path).map((object) => newResource(object));
    step = 'merging';
    into.list.appendAll(resources);
    return;
  } catch (error) {
    if (!(error instanceof CommandError) || error instanceof MalformedYAML) throw error;
    fault = `accumulation err='${step} resources from '${path}': ${messageOf(error)}'`;
  }
  await wrapped(fault, async () => {
    const inner = await folder.folder(path);
    const kustomization = await wrapped(`couldn't make target for path '${inner.root}'`, async () => load(inner));
    if (kustomization.kind === 'Component') {
      throw new CommandError(`expected kind != 'Component' for path '${inner.root}'`);
    }
    const words = `recursed accumulation of path '${inner.root}'`;
    const { list, specs, variables } = await wrapped(words, () => accumulate(inner, kustomization, empty(), options));
    await wrapped(`recursed merging from path '${inner.root}'`, async () => into.list.appendAll(list.all));
    into.specs = withOthers(into.specs, specs);
    addVariables(into.variables, variables);
  });
}

/** A component changes what is there already. */
async function component(
  folder: Folder,
  path: string,
  into: Accumulation,
  options: BuildOptions,
): Promise<Accumulation> {
  const inner = await folder.folder(path);
  const kustomization = load(inner);
  if (kustomization.kind !== 'Component') {
    throw new CommandError(
      `accumulateDirectory: "expected kind 'Component' for path '${inner.root}' but got '${kustomization.kind}'"`,
    );
  }
  return accumulate(inner, kustomization, into, options);
}

/** The tables without repeating what both have. */
function withOthers(table: SpecTable, other: SpecTable): SpecTable {
  const present = new Set(Object.values(table).flat());
  const added = Object.entries(other).map(([name, specs]) => [
    name,
    specs.filter((each: object) => !present.has(each)),
  ]);
  return withSpecs(table, Object.fromEntries(added) as Partial<SpecTable>);
}

/** In the order of kustomize 4.5.4. */
async function transform(folder: Folder, kustomization: Kustomization, { list, specs }: Accumulation): Promise<void> {
  const { namespace, namePrefix, nameSuffix, commonLabels, commonAnnotations } = kustomization;
  await applyStrategicPatches(list, kustomization.patchesStrategicMerge, folder);
  for (const each of kustomization.patches) await applyPatchEntry(list, each, folder);
  if (namespace !== '') setNamespace(list, namespace, specs.namespace);
  addToNames(list, namePrefix, '');
  addToNames(list, '', nameSuffix);
  for (const each of kustomization.labels) setMembers(list, each.pairs ?? {}, labelSpecs(each, specs.commonLabels));
  setMembers(list, commonLabels, specs.commonLabels);
  setMembers(list, commonAnnotations, specs.commonAnnotations);
  for (const each of kustomization.patchesJson6902) await applyOperationsEntry(list, each, folder);
  for (const each of kustomization.replicas) setReplicas(list, each, specs.replicas);
  for (const each of kustomization.images) setImages(list, each, specs.images);
  for (const each of kustomization.replacements) {
    for (const replacement of await replacementsOf(each, folder)) replaceFields(list, replacement);
  }
}

async function replacementsOf(
  { path, ...inline }: Kustomization['replacements'][number],
  folder: Folder,
): Promise<readonly Replacement[]> {
  if (path === undefined) return [inline];
  const value = parseYAML((await folder.read(path)).toString('utf8'));
  return (Array.isArray(value) ? value : [value]) as Replacement[];
}
