/** Storage of container logs: a node's disk, or the memory of a simulated node. */

/** Suffix of unfinished files. */
export const temporarySuffix = '.tmp';

export interface LogFile {
  /** Opened files with equal identity are the same file, whatever its name. */
  readonly identity: string;
  size(): Promise<number>;
  /** At most `length` bytes from `offset`; fewer at the end. */
  read(offset: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

export interface LogFiles {
  /** Undefined if the file does not exist. */
  open(path: string): Promise<LogFile | undefined>;
  /** Size in bytes; undefined if the file does not exist. Does not open the file. */
  sizeOf(path: string): Promise<number | undefined>;
  /** Calls back when the file may have grown, moved or been created. Returns the function that stops it. */
  watch(path: string, onChange: () => void): () => void;
  makeDirectory(path: string): Promise<void>;
  /** Names in a directory; empty if it does not exist. */
  list(directory: string): Promise<string[]>;
  rename(from: string, to: string): Promise<void>;
  /** Replaces the file by `<path>.gz`; absent if compression is useless. */
  compress?(path: string): Promise<void>;
  /** Removes a file, or a directory with its content; does nothing if it does not exist. */
  remove(path: string): Promise<void>;
}
