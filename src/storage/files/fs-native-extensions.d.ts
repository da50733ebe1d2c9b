declare module 'fs-native-extensions' {
  /** Takes an exclusive lock on the whole file; false when another open file description holds one. */
  export function tryLock(fd: number): boolean;
}
