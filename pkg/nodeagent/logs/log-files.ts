/** Where containers' logs are kept: the disk of a node, or the memory of a simulated one. */

/** End of the names of files that are being made. */
export const temporary = '.tmp';

export interface LogFile {
  /** Two opened files with the same identity are the same file, whatever its name is by now. */
  readonly identity: string;
  size(): Promise<number>;
  /** At most `length` bytes from `offset`; fewer at the end. */
  read(offset: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

export interface LogFiles {
  /** Undefined when there is no such file. */
  open(path: string): Promise<LogFile | undefined>;
  /** Bytes of the file; undefined when there is no such file. For looks at many: none is opened. */
  sizeOf(path: string): Promise<number | undefined>;
  /** Calls back when the file may have grown, was moved, or came to be. Returns the function that ends it. */
  watch(path: string, onChange: () => void): () => void;
  makeDirectory(path: string): Promise<void>;
  /** Names in a directory; none when it does not exist. */
  list(directory: string): Promise<string[]>;
  rename(from: string, to: string): Promise<void>;
  /** Puts `<path>.gz` in the file's place; absent where no room is to be saved. */
  compress?(path: string): Promise<void>;
  /** Removes a file or a directory with all in it; nothing to remove is no error. */
  remove(path: string): Promise<void>;
}
