/** The bounds of what a definition may add to its objects, and which definitions have exceeded them. */
import { maxDefaultBytes } from '#api/apiextensions/v1/customresource/defaulting.js';

/** What a definition adds to objects and to the work on them: defaults, the answers of its webhook, cells, checks. */
export type Addition = 'defaults' | 'conversion' | 'columns' | 'schema';

/** Limit of the bytes that a conversion adds to an object. What grows further could not be written back. */
export const maxConversionBytes = maxDefaultBytes;
/** Limit of the bytes that a conversion adds to all objects of a request, which are in memory together. */
export const maxTotalConversionBytes = 64 * 1024 * 1024;

const texts: Readonly<Record<Addition, string>> = {
  defaults: `its defaults add more than ${maxDefaultBytes} bytes to an object`,
  conversion:
    `its conversion adds more than ${maxConversionBytes} bytes to an object, or more than ` +
    `${maxTotalConversionBytes} bytes to the objects of a request`,
  schema: 'its schema requires more checks of an object than its validation may take',
  columns: 'its columns evaluate or show more parts of an object than a row may have',
};

/** A definition that adds more than it may. */
export interface Excess {
  readonly definition: string;
  /** Of the definition. */
  readonly generation: number | bigint;
  readonly version: string;
  readonly addition: Addition;
}

/** For messages: `version "v1": its defaults add …`. */
export function excessText({ version, addition }: Pick<Excess, 'version' | 'addition'>): string {
  return `version "${version}": ${texts[addition]}`;
}

/** The latest excess of each definition; one per server. */
export class ExceededBounds {
  readonly #latest = new Map<string, Excess>();
  #listener: ((definition: string) => void) | undefined;

  /** Repeated reports of the same generation are ignored. */
  report(excess: Excess): void {
    const { definition, generation } = excess;
    if (this.#latest.get(definition)?.generation === generation) return;
    this.#latest.set(definition, excess);
    this.#listener?.(definition);
  }

  of(definition: string): Excess | undefined {
    return this.#latest.get(definition);
  }

  forget(definition: string): void {
    this.#latest.delete(definition);
  }

  /** Called with the name of each definition that has exceeded a bound. */
  listen(listener: (definition: string) => void): void {
    this.#listener = listener;
  }
}
