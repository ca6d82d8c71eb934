/** Valid objects of a kind. */
import type { Dialect } from '#apimachinery/dialect.js';

/** An object without apiVersion and kind; its name and namespace are filled in where it has none. */
export type MakeObject = (dialect: Dialect, name: string, namespace: string | undefined) => Record<string, unknown>;

export interface Sample {
  /** `core.v1.pods` */
  readonly file: string;
  /** The smallest first. */
  readonly sizes: readonly MakeObject[];
  /** Objects of the kind have an effect on other objects, or share something: each is gone before the next one comes. */
  readonly serial?: boolean;
  readonly sharedWithServer?: boolean;
}

/** Members that replace those of a kind's smallest object, by what is special about them. */
export type PrintedSamples = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
