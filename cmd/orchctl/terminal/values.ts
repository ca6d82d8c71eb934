/** Parsed options by name. */
export interface Values {
  string(name: string): string | undefined;
  strings(name: string): readonly string[];
  bool(name: string): boolean;
  number(name: string): number;
  map(name: string): Readonly<Record<string, string>>;
  isSet(name: string): boolean;
}
