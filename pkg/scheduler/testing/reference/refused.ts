export interface Refused {
  readonly plugin: string;
  readonly reasons: readonly string[];
}
