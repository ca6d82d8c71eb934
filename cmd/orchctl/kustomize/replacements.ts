/** `replacements`: fields of objects become those of another one. Pure. */
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { parseLabelSelector } from '#apimachinery/selectors/label-parser.js';
import { pathSteps } from '#cmd/orchctl/kustomize/field-path.js';
import {
  allIdentities,
  type Identity,
  identityText,
  isSelectedBy,
  metadataOf,
  type Resource,
} from '#cmd/orchctl/kustomize/identity.js';
import type { FieldOptions, Replacement, Selector } from '#cmd/orchctl/kustomize/kustomization.js';
import type { ResourceList } from '#cmd/orchctl/kustomize/resource-list.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

type Texts = Readonly<Record<string, string>>;
type Target = NonNullable<Replacement['targets']>[number];

/** Throws a CommandError. */
export function replaceFields(list: ResourceList, { source, targets }: Replacement): void {
  if (source === undefined || targets === undefined) {
    throw new CommandError('replacements must specify a source and at least one target');
  }
  const value = sourceValue(list, source);
  for (const target of targets) {
    const { select, reject = [] } = target;
    if (select === undefined) throw new CommandError('target must specify resources to select');
    for (const resource of list.all) {
      const isChosen =
        hasLabels(resource, select) &&
        !reject.some((each) => hasSelectors(each) && hasLabels(resource, each)) &&
        allIdentities(resource).some(
          (identity) =>
            isSelectedBy(identity, select) && !reject.some((each) => hasIdentity(each) && isSelectedBy(identity, each)),
        );
      if (isChosen) apply(resource.object, value, target);
    }
  }
}

const hasSelectors = ({ labelSelector = '', annotationSelector = '' }: Selector) =>
  labelSelector !== '' || annotationSelector !== '';

const hasIdentity = ({ group, version, kind, name, namespace }: Selector) =>
  [group, version, kind, name, namespace].some((each) => each !== undefined && each !== '');

function hasLabels({ object }: Resource, { labelSelector = '', annotationSelector = '' }: Selector): boolean {
  const { labels = {}, annotations = {} } = metadataOf(object) as { labels?: Texts; annotations?: Texts };
  return (
    parseLabelSelector(labelSelector).matches(labels) && parseLabelSelector(annotationSelector).matches(annotations)
  );
}

const defaultPath = 'metadata.name';

function sourceValue(list: ResourceList, source: NonNullable<Replacement['source']>): unknown {
  const matches = list.all.filter((each) => allIdentities(each).some((identity) => isSelectedBy(identity, source)));
  const { fieldPath = defaultPath, options } = source;
  const whole: Identity = { group: '', version: '', kind: '', name: '', namespace: '', ...source };
  const [resource, another] = matches;
  if (another !== undefined) throw new CommandError(`multiple matches for selector ${identityText(whole)}`);
  if (resource === undefined) throw new CommandError(`nothing selected by ${identityText(whole)}`);
  const [place] = placesAt(resource.object, steps(fieldPath), false);
  const value = place?.get();
  if (value === undefined || value === null || value === '') {
    throw new CommandError(`fieldPath \`${fieldPath}\` is missing for replacement source ${identityText(whole)}`);
  }
  const { delimiter = '', index = 0 } = options ?? {};
  if (delimiter === '') return value;
  if (typeof value === 'object') throw new CommandError('delimiter option can only be used with scalar nodes');
  const part = index < 0 ? undefined : String(value).split(delimiter)[index];
  if (part === undefined) throw new CommandError(`options.index ${index} is out of bounds for value ${String(value)}`);
  return part;
}

function apply(object: JsonObject, value: unknown, { fieldPaths = [defaultPath], options = {} }: Target): void {
  for (const path of fieldPaths) {
    for (const place of placesAt(object, steps(path), options.create === true)) {
      place.set(combined(place.get(), value, options));
    }
  }
}

function combined(present: unknown, value: unknown, { delimiter = '', index = 0 }: FieldOptions): unknown {
  if (delimiter !== '') {
    if (typeof present === 'object' && present !== null) {
      throw new CommandError('delimiter option can only be used with scalar nodes');
    }
    const parts = String(present ?? '').split(delimiter);
    if (index < 0) parts.unshift(String(value));
    else if (index >= parts.length) parts.push(String(value));
    else parts[index] = String(value);
    return parts.join(delimiter);
  }
  if (typeof value === 'object') return copyJson(value);
  // A number that replaces a text stays a text, and a text that replaces a number becomes one.
  if (typeof present === 'string') return String(value);
  if (typeof present === 'number' && typeof value === 'string' && value.trim() !== '') {
    const number = Number(value);
    return Number.isNaN(number) ? value : number;
  }
  if (typeof present === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}

/** Dots within brackets and behind backslashes do not end a step; brackets without `=` only quote. */
function steps(path: string): string[] {
  const result: string[] = [];
  let bracketed: string[] | undefined;
  for (const step of pathSteps(path, '.')) {
    if (bracketed === undefined && step.startsWith('[') && !step.endsWith(']')) bracketed = [step];
    else if (bracketed === undefined) result.push(step);
    else bracketed.push(step);
    if (bracketed === undefined || bracketed.length < 2 || !step.endsWith(']')) continue;
    const whole = bracketed.join('.');
    result.push(whole.includes('=') ? whole : whole.slice(1, -1));
    bracketed = undefined;
  }
  return bracketed === undefined ? result : [...result, bracketed.join('.')];
}

interface Place {
  get(): unknown;
  set(value: unknown): void;
}

const placeIn = (holder: JsonObject | unknown[], key: string | number): Place => ({
  get: () => (holder as JsonObject)[key],
  set: (value) => Object.assign(holder, { [key]: value }),
});

/** Steps are names, indexes, `*`, and `[name=value]` for elements of lists. */
function placesAt(object: JsonObject, path: readonly string[], creates: boolean): Place[] {
  let places: Place[] = [placeIn([object], 0)];
  for (const [i, step] of path.entries()) {
    const next = path[i + 1];
    const empty = () => (next === undefined ? null : isElement(next) ? [] : {});
    places = places.flatMap((place) => inside(place.get(), step, creates ? empty : undefined));
  }
  return places;
}

const isElement = (step: string) => step.startsWith('[') && step.endsWith(']');

function inside(value: unknown, step: string, empty: (() => unknown) | undefined): Place[] {
  if (Array.isArray(value)) return elements(value, step, empty !== undefined);
  if (!isJsonObject(value)) return [];
  if (step === '*') return Object.keys(value).map((key) => placeIn(value, key));
  if (value[step] === undefined || value[step] === null) {
    if (empty === undefined) return [];
    value[step] = empty();
  }
  return [placeIn(value, step)];
}

function elements(list: unknown[], step: string, creates: boolean): Place[] {
  const all = [...list.keys()];
  if (step === '*') return all.map((index) => placeIn(list, index));
  if (/^\d+$/.test(step)) return Number(step) < list.length ? [placeIn(list, Number(step))] : [];
  if (step === '-') return list.length === 0 ? [] : [placeIn(list, list.length - 1)];
  if (!isElement(step)) return [];
  const [key = '', ...rest] = step.slice(1, -1).split('=');
  const text = rest.join('=');
  // A field that may be created is named by its value, any other by a pattern.
  const expression = creates ? undefined : new RegExp(text);
  const isMatch = (value: unknown) =>
    value !== undefined && (expression?.test(String(value)) ?? String(value) === text);
  const matches = all.filter((index) => {
    const element = list[index];
    return isMatch(key === '' ? element : isJsonObject(element) ? element[key] : undefined);
  });
  if (matches.length > 0 || !creates) return matches.map((index) => placeIn(list, index));
  list.push(key === '' ? text : { [key]: text });
  return [placeIn(list, list.length - 1)];
}
