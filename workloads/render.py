"""A Blender animation with textures: `blender -b --factory-startup --python render.py -- DIR prepare|FRAMES`.

`prepare` writes TEXTURES images of noise and a scene that uses them all to DIR; a number renders so many frames of that scene with Cycles. The
scene file is opened by Blender itself and each frame loads its textures anew, as farms do that render a frame a process.
"""

import math
import random
import struct
import sys
import zlib

import bpy

TEXTURES = 48
PIXELS = 256


def write_noise(path, seed):
    """A PNG of noise, so that it does not compress: 3 bytes a pixel."""
    draw = random.Random(seed)
    rows = b"".join(b"\0" + draw.randbytes(3 * PIXELS) for _ in range(PIXELS))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", PIXELS, PIXELS, 8, 2, 0, 0, 0))
                   + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def material(path):
    made = bpy.data.materials.new(path)
    made.use_nodes = True
    image = made.node_tree.nodes.new("ShaderNodeTexImage")
    image.image = bpy.data.images.load(path)
    surface = made.node_tree.nodes["Principled BSDF"].inputs["Base Color"]
    made.node_tree.links.new(image.outputs["Color"], surface)
    return made


def prepare(folder):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    for number in range(TEXTURES):
        path = f"{folder}/texture{number:02}.png"
        write_noise(path, number)
        angle = 2 * math.pi * number / TEXTURES
        bpy.ops.mesh.primitive_cube_add(size=0.6, location=(5 * math.cos(angle), 5 * math.sin(angle), number % 3))
        bpy.context.object.data.materials.append(material(path))
    bpy.ops.object.light_add(type="SUN", location=(0, 0, 9))
    bpy.ops.object.camera_add(location=(0, 0, 14))
    camera = bpy.context.object
    for frame, turn in ((1, 0.0), (12, 1.0)):
        camera.rotation_euler = (0, 0, turn)
        camera.keyframe_insert("rotation_euler", frame=frame)
    scene = bpy.context.scene
    scene.camera = camera
    scene.render.engine = "CYCLES"
    scene.cycles.samples = 2
    scene.cycles.use_denoising = False
    scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = 320, 180, 100
    scene.render.filepath = f"{folder}/frames/"
    bpy.ops.wm.save_as_mainfile(filepath=f"{folder}/scene.blend", compress=False)


folder, what = sys.argv[sys.argv.index("--") + 1:]
if what == "prepare":
    prepare(folder)
else:
    bpy.ops.wm.open_mainfile(filepath=f"{folder}/scene.blend")
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, int(what)
    bpy.ops.render.render(animation=True)
