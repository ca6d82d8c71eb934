/** Field sets of managers that came before: whoever sends back what was read sends them too. */
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { countKeys } from '#apimachinery/codec/json/duplicate-keys.js';
import { type KnownPart, KnownParts, mostDepth, objectAt } from '#apimachinery/codec/json/known-parts.js';
import { indexOfNeedle, needleOf } from '#apimachinery/codec/json/needle.js';
import { deepFreeze } from '#apimachinery/codec/json/shared-values.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { checkDepth } from '#apimachinery/codec/json/walk.js';

const openingText = '"fieldsV1":{';
const opening = needleOf(openingText, openingText.indexOf('V'));
const mostBytes = 16 * 1024;
/** More managers than most objects have. */
const mostSets = 16;

/** A field set that came before; its value is frozen. */
export interface KnownFieldSet extends KnownPart<undefined> {
  readonly value: object;
}

export interface PlacedFieldSet {
  readonly start: number;
  readonly part: KnownFieldSet;
}

export class KnownFieldSets {
  readonly #known = new KnownParts<undefined, KnownFieldSet>({
    leastBytes: 192,
    maxPlaces: 1024,
    maxBytes: 1024 * 1024,
    maxPerPlace: 4,
    make: fieldSetAt,
  });

  /** Those that begin before `end`, in their order, of all that may be field sets. */
  in(body: Buffer, end: number): PlacedFieldSet[] {
    const found: PlacedFieldSet[] = [];
    let at = indexOfNeedle(body, opening);
    for (let i = 0; i < mostSets && at >= 0 && at < end; i++) {
      const start = at + openingText.length - 1;
      const part = this.#known.find(body, start, undefined);
      if (part !== undefined) found.push({ start, part });
      at = indexOfNeedle(body, opening, start + (part?.bytes.length ?? 1));
    }
    return found;
  }
}

/** What is fine with the walk, without members that repeat. */
function fieldSetAt(body: Buffer, start: number): KnownFieldSet | undefined {
  const bytes = objectAt(body, start, mostBytes);
  if (bytes === undefined) return undefined;
  const text = bytes.toString('utf8');
  try {
    const value = parseJSONText(text) as object;
    if (countKeys(text) !== checkDepth(value, mostDepth + 1)) return undefined;
    deepFreeze(value);
    return { bytes: Buffer.from(bytes), of: undefined, value };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof DecodeError) return undefined;
    throw error;
  }
}
