/** The schema of the chart's values as a list of values. Pure. */

export interface ValueSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, ValueSchema>>;
  /** `#/definitions/NAME`: a value that several parts have. */
  readonly $ref?: string;
}

export interface ChartSchema extends ValueSchema {
  readonly definitions?: Readonly<Record<string, ValueSchema>>;
}

/** One value that operators set. */
export interface ChartValue {
  readonly path: readonly string[];
  readonly schema: ValueSchema;
  /** Whether its description is that of a definition. */
  readonly isShared: boolean;
}

/** All values, in the order of the schema. Throws for a reference to a missing definition. */
export function valuesOf({ definitions = {}, ...schema }: ChartSchema): ChartValue[] {
  const below = (at: ValueSchema, path: readonly string[]): ChartValue[] =>
    Object.entries(at.properties ?? {}).flatMap(([name, own]) => {
      const full = [...path, name];
      if (own.$ref === undefined && own.properties !== undefined) return below(own, full);
      const target = own.$ref === undefined ? own : definitions[own.$ref.replace('#/definitions/', '')];
      if (target === undefined) throw new Error(`values.schema.json lacks ${own.$ref}`);
      return [{ path: full, schema: target, isShared: own.$ref !== undefined }];
    });
  return below(schema, []);
}

/** Whether an object of the schema is one: it lists its values, and its own are no values. */
export function sectionsOf({ properties = {} }: ChartSchema): [name: string, schema: ValueSchema][] {
  return Object.entries(properties).filter(([, { properties: own, $ref }]) => own !== undefined && $ref === undefined);
}
