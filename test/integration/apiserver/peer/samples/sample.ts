/** Valid objects of a kind. */
import type { Dialect } from '#apimachinery/dialect.js';

/** An object without apiVersion and kind; name and namespace are filled in if absent. */
export type MakeObject = (dialect: Dialect, name: string, namespace: string | undefined) => Record<string, unknown>;

export interface Sample {
  /** `core.v1.pods` */
  readonly file: string;
  /** Smallest first. */
  readonly sizes: readonly MakeObject[];
  /** The kind's objects affect other objects, or share something: each is deleted before the next is created. */
  readonly serial?: boolean;
  readonly sharedWithServer?: boolean;
}

/** Members that override those of a kind's smallest object, by their special property. */
export type PrintedSamples = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
