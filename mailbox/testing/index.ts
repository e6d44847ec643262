export { Crashed, MemoryFs } from './memory-fs.ts'
